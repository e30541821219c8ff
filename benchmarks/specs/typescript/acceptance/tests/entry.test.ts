import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAmount, parseEntry, parseWho } from '../src/entry.ts';

test('R-2eac84 R-a38a2d: amounts are cents within limits', () => {
  const right = { 12: 1200, '12.50': 1250, 0.05: 5, '0.10': 10, 99999.99: 9999999, 7: 700 };
  for (const [text, cents] of Object.entries(right)) {
    assert.equal(parseAmount(text), cents, text);
  }
  const wrong = ['0', '0.00', '12.5', '12.', '.50', '012', '00.50', '+1', '-1', '100000', '1,00', '12.500', ''];
  for (const text of wrong) {
    assert.throws(() => parseAmount(text), Error, text);
  }
});

test('R-723649 R-14fca3: shares are names with weights', () => {
  assert.equal(parseWho('all'), null);
  assert.deepEqual(parseWho('ada*2,bo'), [['ada', 2], ['bo', 1]]);
  assert.deepEqual(parseWho('bo*9'), [['bo', 9]]);
  for (const text of ['ada*1', 'ada*10', 'ada*0', 'ada*', 'ada,', ',ada', 'ada,,bo', 'ada*2*2', 'Ada']) {
    assert.throws(() => parseWho(text), Error, text);
  }
});

test('R-b7aa68: no name twice, and no gift to oneself', () => {
  assert.throws(() => parseWho('ada,ada*2'));
  assert.throws(() => parseEntry('gave ada 5 to ada'));
});

test('R-65d838: a person has a name of letters and hyphens inside', () => {
  for (const name of ['a', 'ada', 'mary-ann', 'abcdefghijklmnop']) {
    assert.deepEqual(parseEntry(`person ${name}`), { verb: 'person', name });
  }
  for (const name of ['Ada', '-ada', 'ada-', 'ad4', 'abcdefghijklmnopq', 'a_b']) {
    assert.throws(() => parseEntry(`person ${name}`), Error, name);
  }
});

test('R-df92fb R-8afa74 R-12db35: what entries say', () => {
  const paid = { verb: 'paid', name: 'ada', cents: 1250, parts: [['bo', 1]] };
  assert.deepEqual(parseEntry('paid ada 12.50 for bo'), paid);
  assert.deepEqual(parseEntry('gave bo 3 to ada'), { verb: 'gave', name: 'bo', cents: 300, to: 'ada' });
  assert.deepEqual(parseEntry('undo'), { verb: 'undo' });
});

test('R-6d0ad2 R-33bf65: blanks and comments', () => {
  assert.equal(parseEntry('   '), null);
  assert.equal(parseEntry(''), null);
  assert.equal(parseEntry('# person ada'), null);
  assert.deepEqual(parseEntry('  person   ada '), { verb: 'person', name: 'ada' });
});

test('R-434bd5: unknown words and wrong numbers of words', () => {
  const wrong = [
    'pays ada 1 for all', 'person', 'person ada bo', 'undo 1', 'paid ada 1', 'paid ada 1 for',
    'paid ada 1 to bo', 'paid ada 1 for bo cy', 'gave ada 1 for bo', 'gave ada 1 to', 'gave ada 1 to bo cy',
  ];
  for (const line of wrong) {
    assert.throws(() => parseEntry(line), Error, line);
  }
});
