import { isWon, score } from './score.ts';
import { parseWord } from './word.ts';

function play(answer: string, guesses: string[]): void {
  for (const [index, guess] of guesses.entries()) {
    const marks = score(answer, guess);
    console.log(`${index + 1} ${guess} ${marks.join('')}`);
    if (isWon(marks)) {
      console.log(`won in ${index + 1}`);
      return;
    }
  }
  console.log('lost');
}

function main(texts: string[]): number {
  try {
    const [answer, ...guesses] = texts.map(parseWord);
    if (answer === undefined || guesses.length === 0) {
      throw new Error('give the answer and at least one guess');
    }
    play(answer, guesses);
    return 0;
  } catch (error) {
    console.error((error as Error).message);
    return 2;
  }
}

process.exitCode = main(process.argv.slice(2));
