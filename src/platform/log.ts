import { type Logger, type LoggerOptions, pino } from 'pino';
import { isBusy } from './db/errors.ts';
import { LogOutput, toDescriptor } from './log-output.ts';
import { isRedisFault } from './redis-breaker.ts';
import { currentRequest } from './request-note.ts';

const WARN = 40;
/**
 * Maximum time, in milliseconds, for which log lines below the level of warnings are buffered. Buffered lines are lost if the
 * process is killed.
 */
const HELD_MS = 100;
/** Number of buffered UTF-16 code units above which the buffered log lines are written. */
const HELD_CHARACTERS = 16_384;
/** Minimum interval between two log lines about the same outage, in milliseconds. Lines in between are omitted. */
const QUIET_MS = 60_000;

interface Sink {
  write(text: string): unknown;
}

/**
 * Opens the service's log: JSON lines on standard error. Standard output is for people and for the output of the command line.
 *
 * Lines below the level of warnings are written in batches, several per second. Otherwise, half of the time for logging a line
 * would be spent on the write. Lines that are logged while a request is answered contain its id, and the id of its trace if it
 * is part of one. An unavailable database or Redis, or a full disk, is logged once a minute, with the number of omitted lines.
 */
export function openLog(level: string, to: Sink = new LogOutput(toDescriptor(2))): Logger {
  return pino(
    {
      level,
      mixin: () => {
        const note = currentRequest();
        if (note === undefined) return {};
        return note.trace === undefined
          ? { request_id: note.id }
          : { request_id: note.id, trace_id: note.trace.traceId };
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

/** Returns a log method that omits warnings and errors about an outage if the same message was logged within `QUIET_MS`. */
function thinning(): LogMethod {
  const logged = new Map<string, { at: number; omitted: number }>();
  return function (args, method, level) {
    const log = method as unknown as (...args: unknown[]) => void;
    const [fields, message] = args as [unknown, unknown?];
    if (level < WARN || typeof message !== 'string' || !isOutage((fields as { err?: unknown })?.err)) {
      log.apply(this, args);
      return;
    }
    const now = performance.now();
    const last = logged.get(message);
    if (last !== undefined && now - last.at < QUIET_MS) {
      last.omitted++;
      return;
    }
    logged.set(message, { at: now, omitted: 0 });
    const omitted = last?.omitted ?? 0;
    log.call(this, omitted === 0 ? fields : { ...(fields as object), passed_over: omitted }, message);
  };
}

const UNREACHABLE = new Set(['ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOENT']);

/**
 * Returns whether an error means that the database, Redis or another server is unavailable. Such errors repeat until the outage
 * ends.
 */
function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return isBusy(error) || isRedisFault(error) || UNREACHABLE.has((error as NodeJS.ErrnoException).code ?? '');
}
