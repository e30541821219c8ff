// Says where code under test ends a process of Node with 0, before the command's own end.
//
// A copy of this file, with a call of `watch` at its end, is required by every Node of a command. An
// exit is the command's own if the main file calls it, or a package that it calls, or if the main
// file was in a call after which it does nothing more. A program may be ended by a function of
// another file, because its exit is its behaviour, but not while another file is loaded.
// What a test of `node --test` starts is judged by that test, and not here.
//
// A test also fails if the code under test alone took an error that nobody caught, or made the exit
// code 0 while the process exits.

'use strict';

const fs = require('fs');
const path = require('path');
const url = require('url');

const TEST = /(?:^|\/)(?:tests?|__tests__|spec)\/|[._-](?:test|spec|check)\.\w+$|(?:^|\/)(?:test|check)[._-][^/]*$/;
const LOADER = 'node:internal/modules/';
const BELOW_TEST = 'LLMCH_BELOW_TEST';
const ERRORS = ['uncaughtException', 'unhandledRejection'];
const MONITOR = 'uncaughtExceptionMonitor';
const TAKEN = 'the code under test takes errors that nobody caught, for the whole process. Have it leave them alone.';
const MADE_ZERO = 'the code under test makes the exit code 0 while the process exits. Have it leave the code alone.';
const EVALUATED = /(?:^|\/)\[eval\d*\]$/;

function frames() {
  const { stackTraceLimit, prepareStackTrace } = Error;
  Error.stackTraceLimit = Infinity;
  Error.prepareStackTrace = (_, sites) => sites;
  const sites = new Error().stack;
  Object.assign(Error, { stackTraceLimit, prepareStackTrace });
  return sites.map((each) => {
    const name = each.getFileName() || '';
    const file = name.startsWith('file:') ? url.fileURLToPath(name) : name;
    return { file, line: each.getLineNumber(), column: each.getColumnNumber() };
  });
}

// Whether the code behind a call, which begins at a place of the source, does nothing more.
function comesLast(source, { line, column }, isTop) {
  const lines = source.split('\n');
  const start = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, column - 1);
  let at = start + /^[\w$.?]*\s*/.exec(source.slice(start))[0].length;
  for (let depth = 0; at < source.length; at += 1) {
    const quote = /['"`]/.exec(source[at]);
    if (quote) at = source.indexOf(source[at], at + 1);
    if (at < 0) return false;
    depth += source[at] === '(' ? 1 : source[at] === ')' ? -1 : 0;
    if (depth === 0) break;
  }
  let rest = source.slice(at + 1);
  if (/\bexit\([^;,\n]*$/.test(source.slice(0, start))) rest = rest.replace(/^\s*\)/, '');
  rest = rest.replace(/^(?:\s*\.(?:catch|then|finally)\([^;]*\))+/, '');
  return isTop ? /^\s*;?\s*(?:\}[)\s]*(?:\(\))?;?\s*)*$/.test(rest) : /^\s*;?\s*\}/.test(rest);
}

// Return whether code under test has hidden a failure so far, and how, as a sentence; else "".
// `isTested` says of a place whether it is in such code.
function watchFailures(isTested) {
  const own = new WeakSet(); // listeners of the code under test
  let [hidden, isCaptured, isFailing, current] = ['', false, false, undefined];
  const { emit, setUncaughtExceptionCaptureCallback } = process;
  const caller = () => frames().find(({ file }) => file && file !== __filename && !file.startsWith('node:'));
  const isOwnCall = () => isTested(caller() || { file: '' });

  process.on('newListener', (name, listener) => {
    if ([...ERRORS, 'exit'].includes(name) && isOwnCall()) own.add(listener);
  });

  process.setUncaughtExceptionCaptureCallback = function capture(take) {
    isCaptured = Boolean(take) && isOwnCall();
    return setUncaughtExceptionCaptureCallback.call(process, take);
  };

  function take(name, error) {
    const listeners = process.listeners(name);
    const isTaken = name === MONITOR ? isCaptured : listeners.length > 0 && listeners.every((each) => own.has(each));
    if (isTaken && !caller()) hidden = `${TAKEN}\n${(error && error.stack) || error}`;
  }

  function exit(code) {
    isFailing = Boolean(code);
    const listeners = process.rawListeners('exit');
    for (const each of listeners) {
      current = each.listener || each;
      each.call(process, code);
      const isFailure = process.exitCode === undefined ? isFailing : Boolean(Number(process.exitCode));
      if (isFailing && !isFailure && own.has(current)) hidden = hidden || MADE_ZERO;
      isFailing = isFailure;
    }
    current = undefined;
    if (hidden && !isFailing) {
      complain(hidden);
      process.exitCode = 1;
    }
    return listeners.length > 0;
  }

  process.emit = function emitWatched(name, ...given) {
    if (name === 'exit') return exit(...given);
    if (name === MONITOR || ERRORS.includes(name)) take(name, given[0]);
    return emit.call(this, name, ...given);
  };

  return () => hidden || (isFailing && current && own.has(current) ? MADE_ZERO : '');
}

function complain(what) {
  fs.writeSync(2, `\nThe command ended before its own end: ${what}\n`);
}

function watch(root) {
  const { reallyExit } = process;
  const isEvaluated = typeof process._eval === 'string';
  const main = isEvaluated ? '' : path.resolve(process.argv[1] || '.');
  const isMain = ({ file }) => (isEvaluated ? EVALUATED.test(file) : file === main);
  const isOwn = (file) => file.startsWith(root) && !file.includes('/node_modules/');
  const isTested = (each) => isOwn(each.file) && !isMain(each) && each.file !== __filename;

  const ofRunner = 'NODE_TEST_CONTEXT' in process.env;
  const isTest = isEvaluated || ofRunner || TEST.test(main.slice(root.length));
  if (BELOW_TEST in process.env) return;
  if (ofRunner && isOwn(main)) process.env[BELOW_TEST] = '1';

  function sourceOfMain() {
    return isEvaluated ? process._eval : fs.readFileSync(main, 'utf8');
  }

  // Return the place of an early exit, and whether a file was being loaded; else undefined.
  function earlyExit() {
    const stack = frames();
    const isLoaded = (at) => isTested(stack[at]) && (stack[at + 1] || stack[at]).file.startsWith(LOADER);
    const own = stack.findIndex(isMain);
    const below = own < 0 ? stack : stack.slice(0, own);
    const place = below.find(isTested);
    if (!place) return undefined;
    const isLoading = below.some((_, at) => isLoaded(at));
    const early = { place, isLoading };
    if (!isEvaluated && !isOwn(main)) return early; // a test runner
    if (!isTest && !isLoading) return undefined;
    if (own < 0 && !isLoading) return ofRunner ? early : undefined;
    const source = sourceOfMain();
    if (own < 0) return /^\s*(?!import\b|\/\/|['"]use)\S/m.test(source.replace(/^import[^;]*;/gm, '')) ? early : undefined;
    const positions = stack.map((each, at) => [each, (stack[at + 1] || {}).file]).filter(([each]) => isMain(each));
    const isLast = positions.every(([each, caller], at) => comesLast(source, each, at === positions.length - 1));
    return isLast ? undefined : early;
  }

  const { isMainThread } = require('worker_threads');
  const isProduct = (each) => isTested(each) && !TEST.test(each.file.slice(root.length));
  const isWatched = isMainThread && isTest && (isEvaluated || isOwn(main));
  const hides = isWatched ? watchFailures(isProduct) : () => '';

  process.reallyExit = function exit(code) {
    let early;
    const hidden = code ? '' : hides();
    if (hidden) {
      complain(hidden);
      return reallyExit.call(process, 1);
    }
    if (!code && isMainThread) {
      try {
        early = earlyExit();
      } catch {
        early = undefined; // a file that cannot be read: nothing is known
      }
    }
    if (early) {
      const where = `${path.relative(root, early.place.file)}:${early.place.line}`;
      const how = early.isLoading ? ' while it is loaded. Have only the main file start a program.' : '. Return or throw there, so that the caller goes on.';
      complain(`the code under test exits at ${where}${how}`);
    }
    return reallyExit.call(process, early ? 1 : code);
  };
}
