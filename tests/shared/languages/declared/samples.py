"""The same small project in Go and in Rust, for tests of what both languages share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.languages.capabilities import Language
from shared.languages.go.go_language import GO
from shared.languages.rust.rust_language import RUST


@dataclass(frozen=True, slots=True)
class Sample:
    """Hold contracts of one file at `path`, and implementations of it.

    `contract` declares the function score, the type Game with a field and the method play; names
    are as the language spells them. `code` keeps it. `head` comes before any other code.
    """

    language: Language
    path: str
    head: str
    contract: str
    code: str
    names: Mapping[str, str]

    def renamed(self, text: str) -> str:
        """Return a text with `{score}`, `{Game}`, `{play}` spelled as in the language."""
        for key, name in self.names.items():
            text = text.replace(f"{{{key}}}", name)
        return text


IN_GO = Sample(
    GO,
    "game/game.go",
    "package game\n",
    "package game\n\ntype Game struct {\n\tWord string\n}\n\n"
    "func Score(guess string) int\n\nfunc (g *Game) Play(guess string) bool\n",
    "package game\n\n// Game holds the word.\ntype Game struct {\n\tWord string\n}\n\n"
    "// Score counts.\nfunc Score(guess string) int {\n\treturn len(guess)\n}\n\n"
    "func (g *Game) Play(guess string) bool {\n\treturn g.Word == guess\n}\n",
    {"score": "Score", "Game": "Game", "play": "Play", "Game.play": "Game.Play"},
)
IN_RUST = Sample(
    RUST,
    "src/game.rs",
    "",
    "pub struct Game {\n    pub word: String,\n}\n\n"
    "pub fn score(guess: &str) -> usize;\n\nimpl Game {\n"
    "    pub fn play(&mut self, guess: &str) -> bool;\n}\n",
    "/// Holds the word.\npub struct Game {\n    pub word: String,\n}\n\n"
    "/// Counts.\npub fn score(guess: &str) -> usize {\n    guess.len()\n}\n\nimpl Game {\n"
    "    pub fn play(&mut self, guess: &str) -> bool {\n        self.word == guess\n    }\n}\n",
    {"score": "score", "Game": "Game", "play": "play", "Game.play": "Game.play"},
)
SAMPLES = (IN_GO, IN_RUST)
