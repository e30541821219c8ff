/** What is said of one letter: hit, present elsewhere, or absent. */
export type Mark = 'H' | 'P' | '-';

/** Return a mark for each letter of a guess. Both words are in capitals. */
export function markGuess(answer: string, guess: string): Mark[] {
  const letters = [...guess];
  const left = [...answer].filter((letter, at) => letter !== letters[at]);
  return letters.map((letter, at) => {
    if (letter === answer[at]) {
      return 'H';
    }
    const found = left.indexOf(letter);
    if (found < 0) {
      return '-';
    }
    left.splice(found, 1);
    return 'P';
  });
}

/** Return whether all letters are hits. */
export function isWon(marks: Mark[]): boolean {
  return marks.every((mark) => mark === 'H');
}
