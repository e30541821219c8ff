/** Prints what the notes come to: `node src/main.ts COMMAND FILE`. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readNotes, type Ledger } from './ledger.ts';
import { settle } from './settle.ts';

export interface Ended {
  code: number;
  out: string;
  errors: string;
}

/** Returns an amount with two decimals. */
export function amount(cents: number): string {
  return (cents / 100).toFixed(2);
}

const COMMANDS: Record<string, (ledger: Ledger) => string[]> = {
  balance: ({ balances }) =>
    [...balances].map(([name, cents]) => `${name} ${cents > 0 ? '+' : ''}${amount(cents)}`),
  settle: ({ balances }) => {
    const lines = settle(balances).map((each) => `${each.from} pays ${each.to} ${amount(each.cents)}`);
    return lines.length > 0 ? lines : ['nothing to settle'];
  },
  spent: ({ carried, total }) => {
    const sorted = [...carried].filter(([, cents]) => cents > 0);
    sorted.sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    return [`total ${amount(total)}`, ...sorted.map(([name, cents]) => `${name} ${amount(cents)}`)];
  },
};

/** Returns how the program ends on these words; `read` returns the text of a file. */
export function run(words: string[], read: (file: string) => string): Ended {
  const [command, file] = words;
  if (words.length !== 2 || !Object.hasOwn(COMMANDS, command)) {
    return { code: 2, out: '', errors: 'usage: node src/main.ts balance|settle|spent FILE\n' };
  }
  let text: string;
  try {
    text = read(file);
  } catch {
    return { code: 2, out: '', errors: `${file} cannot be read\n` };
  }
  const ledger = readNotes(text);
  if (ledger.faults.length > 0) {
    return { code: 1, out: '', errors: ledger.faults.map((each) => `${each}\n`).join('') };
  }
  return { code: 0, out: COMMANDS[command](ledger).map((each) => `${each}\n`).join(''), errors: '' };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const ended = run(process.argv.slice(2), (file) => readFileSync(file === '-' ? 0 : file, 'utf8'));
  process.stdout.write(ended.out);
  process.stderr.write(ended.errors);
  process.exitCode = ended.code;
}
