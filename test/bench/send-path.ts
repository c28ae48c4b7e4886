// Prints the functions of `src` that one `POST /api/v1/messages` executes before its row is written, by file:
// `node --disable-warning=ExperimentalWarning test/bench/send-path.ts`
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from '../helpers/control.ts';
import { type ExecutedFunction, FunctionRecorder } from '../helpers/executed-functions.ts';
import type { Json } from '../helpers/http.ts';
import { startInProcess } from '../helpers/in-process.ts';
import { Person } from '../helpers/person.ts';
import { aroundStatements } from '../helpers/statements.ts';

/** Number of messages sent before the first measured one. */
const WARM_UP = 20;
/** Number of messages measured. A function that is not executed for each of them belongs to background work. */
const MEASURED = 8;
/** Pause before each measured message, in milliseconds. In this time, the work after the previous message ends. */
const PAUSE_MS = 60;
/** Milliseconds that are added to each pause after the first, so that messages do not coincide with periodic work. */
const LONGER_PAUSE_MS = 3;

/**
 * File of the timer that measures the delay of the event loop every 10 ms. It does not count, because it may fire during every
 * measured message, for this service and for others in the process.
 */
const TIMER_FILE = 'platform/account-limiter.ts';

/** Contents of the measured messages: plain text, and text that needs the Markdown parser. */
const CONTENTS = { plain: 'A plain message.', formatted: 'A **bold** message.' } as const;

/**
 * Returns the functions of `src` that are executed for a message, for each content in `CONTENTS`. They run from the arrival of
 * the request until the embedded database has written the row. Each counts once, however often it is called. Libraries, the
 * delivery of the event, the response and background work do not count.
 *
 * The sender is a member with an API key, who names the channel and sends to a topic that exists. The settings are those of
 * production, with rate limits.
 */
export async function sendPaths(): Promise<Record<keyof typeof CONTENTS, readonly ExecutedFunction[]>> {
  const limits = { RATE_LIMIT_PER_USER: '1000000', RATE_LIMIT_PER_IP: '1000000' };
  await using service = await startInProcess({ env: { GUARD_TRANSACTIONS: 'off', CHECK_REPLIES: 'off', ...limits } });
  const sender = await memberOf(service);
  const send = (content: string) =>
    sender.ok('POST', '/messages', { type: 'channel', to: 'general', topic: 'hello', content });
  for (let i = 0; i < WARM_UP; i++) for (const content of Object.values(CONTENTS)) await send(content);
  using recorder = new FunctionRecorder();
  let executed: readonly ExecutedFunction[] = [];
  aroundStatements(service.app, async (run, sql) => {
    const rows = await run();
    if (sql.includes('write_messages(')) executed = recorder.take().filter(({ file }) => file !== TIMER_FILE);
    return rows;
  });
  const measure = async (content: string) => {
    let common: readonly ExecutedFunction[] | undefined;
    for (let i = 0; i < MEASURED; i++) {
      await sleep(PAUSE_MS + i * LONGER_PAUSE_MS);
      // The embedded database now checks the disk space, which it does at most every 200 ms, and not during the message.
      await service.app.db.$queryRaw`SELECT 1`;
      recorder.clear();
      await send(content);
      const keys = new Set(executed.map(keyOf));
      common = (common ?? executed).filter((one) => keys.has(keyOf(one)));
    }
    return common ?? [];
  };
  return { plain: await measure(CONTENTS.plain), formatted: await measure(CONTENTS.formatted) };
}

const keyOf = ({ file, line, name }: ExecutedFunction) => `${file}:${line} ${name}`;

/** Creates an organization with a channel, and returns a member who is subscribed to it. */
async function memberOf({ url, dataDir }: { readonly url: string; readonly dataDir: string }): Promise<Person> {
  const people = (['owner', 'member'] as const).map((role) => ({ name: role, role }));
  const { users } = await runCommand(dataDir, 'org create', { subdomain: 'measured', name: 'Measured', people });
  const place = { url, host: `measured.localhost:${new URL(url).port}` };
  const [owner, member] = users.map(
    ({ user_id: id, email, api_key: apiKey }: Json, i: number) =>
      new Person(place, { id, name: people[i]?.name ?? '', email, apiKey, role: 0 }),
  );
  await owner.ok('POST', '/channels/create', { name: 'general', subscribers: [owner.id, member.id] });
  return member;
}

/** Returns a text that lists the functions by file, for printing and for the message of a failed test. */
export function tableOf(executed: readonly ExecutedFunction[]): string {
  const byFile = [...Map.groupBy(executed, ({ file }) => file)];
  const lines = byFile.map(
    ([file, functions]) =>
      `${file} (${functions.length}): ${functions.map(({ line, name }) => `${name || 'anonymous'}:${line}`).join(', ')}`,
  );
  return [...lines, `${executed.length} functions in ${byFile.length} files`].join('\n');
}

if (import.meta.main) {
  for (const [kind, executed] of Object.entries(await sendPaths())) {
    console.log(`A message of ${kind} text:\n${tableOf(executed)}\n`);
  }
}
