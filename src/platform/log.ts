import { type Logger, type LoggerOptions, pino } from 'pino';
import { isBusy } from './db/errors.ts';
import { LogOutput, toDescriptor } from './log-output.ts';
import { isRedisFault } from './redis-breaker.ts';
import { currentRequest } from './request-note.ts';

const WARN = 40;
/**
 * Bounds of the buffer for lines below the level of warnings: milliseconds and number of characters. Buffered lines are lost if
 * the process is killed.
 */
const HELD_MS = 100;
const HELD_CHARACTERS = 16_384;
/** Minimum interval between two log lines about the same outage, in milliseconds. */
const QUIET_MS = 60_000;

interface Sink {
  write(text: string): unknown;
}

/**
 * Opens the service's log: JSON lines on standard error. Standard output is for people and for the output of the command line.
 *
 * Lines below the level of warnings are written in batches, some per second: otherwise the write would take half of the cost of
 * logging a line. Lines that are logged while a request is answered contain its id. An unavailable database or Redis, or a full
 * disk, is logged once a minute, with the number of omitted lines.
 */
export function openLog(level: string, to: Sink = new LogOutput(toDescriptor(2))): Logger {
  return pino(
    {
      level,
      mixin: () => {
        const note = currentRequest();
        return note === undefined ? {} : { request_id: note.id };
      },
      hooks: { logMethod: thinning() },
    },
    combined(to),
  );
}

/** Returns a pino destination that buffers lines below the level of warnings and writes them in batches. */
function combined(to: Sink) {
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

/** Returns whether an error means that the database, Redis or another server is unavailable. It then repeats for some time. */
function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return isBusy(error) || isRedisFault(error) || UNREACHABLE.has((error as NodeJS.ErrnoException).code ?? '');
}
