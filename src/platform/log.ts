import { destination, type Logger, type LoggerOptions, pino } from 'pino';
import { isBusy } from './db/errors.ts';
import { isRedisFault } from './redis-breaker.ts';
import { currentRequest } from './request-note.ts';

const WARN = 40;
/** Our choices: what is lost of lines that warn of nothing when the process is killed, and what is held of them. */
const HELD_MS = 100;
const HELD_CHARACTERS = 16_384;
/** Our choice: how often a fault that goes on is told. */
const QUIET_MS = 60_000;

interface Sink {
  write(text: string): unknown;
}

/**
 * The service's log: JSON lines to standard error, as standard output is for people and for the command line's answers.
 *
 * Lines that warn of nothing are written together, some a second: to write each costs as much as all else about it. What
 * is logged while a request is answered has its id. What says that the database or Redis is out of reach, or that a disk is
 * full, is told once a minute, and how often it was so meanwhile.
 */
export function openLog(level: string, to: Sink = destination({ dest: 2, sync: true })): Logger {
  return pino(
    {
      level,
      mixin: () => {
        const note = currentRequest();
        return note === undefined ? {} : { request_id: note.id };
      },
      hooks: { logMethod: thinning() },
    },
    together(to),
  );
}

/** A destination that is told of each line's level, and writes lines that warn of nothing together. */
function together(to: Sink) {
  let held = '';
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const text = held;
    held = '';
    if (text !== '') to.write(text);
  };
  process.on('exit', flush);
  return {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 0,
    write(line: string) {
      held += line;
      if (this.lastLevel >= WARN || held.length > HELD_CHARACTERS) flush();
      else timer ??= setTimeout(flush, HELD_MS).unref();
    },
  };
}

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

function thinning(): LogMethod {
  const told = new Map<string, { at: number; passedOver: number }>();
  return function (args, method, level) {
    const say = method as unknown as (...args: unknown[]) => void;
    const [facts, message] = args as [unknown, unknown?];
    if (level < WARN || typeof message !== 'string' || !isOutage((facts as { err?: unknown })?.err)) {
      say.apply(this, args);
      return;
    }
    const now = performance.now();
    const last = told.get(message);
    if (last !== undefined && now - last.at < QUIET_MS) {
      last.passedOver++;
      return;
    }
    told.set(message, { at: now, passedOver: 0 });
    const passedOver = last?.passedOver ?? 0;
    say.call(this, passedOver === 0 ? facts : { ...(facts as object), passed_over: passedOver }, message);
  };
}

const UNREACHABLE = new Set(['ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT']);

/** Whether what was asked for is out of reach: such faults come again until it is back. */
function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return isBusy(error) || isRedisFault(error) || UNREACHABLE.has((error as NodeJS.ErrnoException).code ?? '');
}
