import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { amount, run } from '../src/main.ts';

const NOTES = 'person cy\nperson bo\nperson ada\npaid ada 25.00 for ada,bo\npaid bo 0.05 for cy\ngave cy 0.05 to bo\n';

/** Returns what the program prints on these notes. */
function printed(command, notes) {
  const ended = run([command, 'notes'], () => notes);
  assert.deepEqual([ended.code, ended.errors], [0, '']);
  return ended.out;
}

test('R-9d5711: amounts have two decimals', () => {
  assert.deepEqual([amount(5), amount(1250), amount(0), amount(-5), amount(700)], ['0.05', '12.50', '0.00', '-0.05', '7.00']);
});

test('R-690fbf: balances by name, with a sign', () => {
  assert.equal(printed('balance', NOTES), 'ada +12.50\nbo -12.50\ncy 0.00\n');
  assert.equal(printed('balance', ''), '');
});

test('R-45de98: transfers, or that there are none', () => {
  assert.equal(printed('settle', NOTES), 'bo pays ada 12.50\n');
  assert.equal(printed('settle', 'person ada\n'), 'nothing to settle\n');
});

test('R-951b82: what was spent, the largest sum first and equal sums by name', () => {
  assert.equal(printed('spent', NOTES), 'total 25.05\nada 12.50\nbo 12.50\ncy 0.05\n');
  assert.equal(printed('spent', `${NOTES}paid bo 1 for cy*2\npaid cy 20 for cy\nperson di`), 'total 46.05\ncy 21.05\nada 12.50\nbo 12.50\n');
  assert.equal(printed('spent', ''), 'total 0.00\n');
});

test('R-61d9fc R-a8a667: errors are printed alone, with exit code 1', () => {
  const ended = run(['balance', 'notes'], () => 'person ada\nperson ada\n\nwhat\n');
  assert.deepEqual([ended.code, ended.out], [1, '']);
  assert.match(ended.errors, /^line 2: .+\nline 4: .+\n$/);
});

test('R-ef4ae4: wrong arguments and files end with exit code 2', () => {
  for (const words of [[], ['balance'], ['balances', 'notes'], ['balance', 'a', 'b'], ['toString', 'notes']]) {
    const ended = run(words, () => 'person ada\n');
    assert.deepEqual([ended.code, ended.out], [2, ''], words.join(' '));
    assert.match(ended.errors, /^.+\n$/);
  }
  const unread = run(['balance', 'none'], () => {
    throw new Error('ENOENT');
  });
  assert.deepEqual([unread.code, unread.out], [2, '']);
  assert.match(unread.errors, /^.+\n$/);
});

test('R-db1ae5 R-1eb253: the program reads standard input', () => {
  const done = spawnSync(process.execPath, ['src/main.ts', 'settle', '-'], { input: NOTES, encoding: 'utf8' });
  assert.deepEqual([done.status, done.stdout, done.stderr], [0, 'bo pays ada 12.50\n', '']);
  const wrong = spawnSync(process.execPath, ['src/main.ts', 'settle', 'no/such/file'], { encoding: 'utf8' });
  assert.deepEqual([wrong.status, wrong.stdout], [2, '']);
});
