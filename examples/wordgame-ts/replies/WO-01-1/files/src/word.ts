/** How many letters a word has. */
export const WORD_LENGTH = 5;

/** Return the word in capitals. Throws an error that quotes the text where it is no word. */
export function parseWord(text: string): string {
  const word = text.trim().toUpperCase();
  if (!/^[A-Z]{5}$/.test(word)) {
    throw new Error(`${JSON.stringify(text)} is not a word of ${WORD_LENGTH} letters`);
  }
  return word;
}
