import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { launchChromium } from '../../helpers/chromium.ts';
import { Person } from '../../helpers/person.ts';
import { AS_SERVED, ServerProcess } from '../../helpers/process.ts';
import { watchFrames } from './in-page.ts';

/** Amount of test data. The benchmark uses more than a large organization has. */
export interface Size {
  readonly channels: number;
  readonly messages: number;
}

/** Divisor that determines the length of the displayed channel. It has one in `PART_OF_SHOWN` of all messages, in one topic. */
const PART_OF_SHOWN = 10;
/** Number of concurrent requests with which the organization is filled. */
const LANES = 8;
/** Number of channels that one request creates. */
const CHUNK = 100;

/** A channel that the bench created. */
export interface MadeChannel {
  readonly name: string;
  readonly id: number;
}

/** A demo server with its default configuration and a large organization, and a browser that opens its chat page. */
export interface WebStage extends AsyncDisposable {
  readonly server: ServerProcess;
  readonly browser: Browser;
  /** The user who is signed in to the browser. */
  readonly viewer: Person;
  /** The user who sends messages during the measurements. */
  readonly writer: Person;
  readonly channels: readonly MadeChannel[];
  /** Opens a separate browser profile, signed in as the viewer. */
  enter(): Promise<{ readonly context: BrowserContext; readonly page: Page }>;
}

/** Starts the server and the browser, and fills the demo organization. */
export async function setWebStage(size: Size): Promise<WebStage> {
  const own = new AsyncDisposableStack();
  const dataDir = mkdtempSync(join(tmpdir(), 'chat-bench-'));
  own.defer(() => rmSync(dataDir, { recursive: true, force: true }));
  const env = { ...AS_SERVED, DEMO: 'on', DATABASE_URL: undefined, EVENT_HEARTBEAT_SECONDS: undefined };
  const server = own.use(await ServerProcess.start({ dataDir, env }));
  // Draws frames when they are ready, not at the next tick of a 60 Hz screen, because the page is measured and not the screen.
  // In some windows, NavigationPredictor requests an empty frame ten times a second. Without a frame-rate limit, the frame
  // after an empty one is delayed by 20 ms.
  const asReady = ['--disable-frame-rate-limit', '--disable-gpu-vsync', '--disable-features=NavigationPredictor'];
  const browser = await launchChromium(asReady);
  own.defer(() => browser.close());
  const demo = readDemo(dataDir);
  const personOf = (role: string) => {
    const user = demo.users.find((one) => one.role === role);
    if (user === undefined) throw new Error(`The demo has no ${role}`);
    const account = { id: user.user_id, name: role, email: user.email, apiKey: user.api_key, role: 0 };
    return new Person({ url: server.url, host: `127.0.0.1:${server.port}` }, account);
  };
  const [writer, viewer] = [personOf('owner'), personOf('member')];
  const channels = await fill(writer, viewer, size);
  const moved = own.move();
  return {
    server,
    browser,
    viewer,
    writer,
    channels,
    async enter() {
      const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
      const page = await context.newPage();
      page.setDefaultTimeout(60_000);
      await page.addInitScript(watchFrames);
      await page.goto(demo.start_url);
      await page
        .getByRole('region', { name: 'The demo' })
        .getByRole('button', { name: / member$/ })
        .first()
        .click();
      await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
      return { context, page };
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
}

interface Demo {
  readonly start_url: string;
  readonly users: readonly { role: string; user_id: number; email: string; api_key: string }[];
}

/** Reads the credentials of the demo users. */
export const readDemo = (dataDir: string): Demo => JSON.parse(readFileSync(join(dataDir, 'demo.json'), 'utf8'));

async function fill(writer: Person, viewer: Person, { channels, messages }: Size): Promise<MadeChannel[]> {
  const names = Array.from({ length: channels }, (_, i) => `bench ${String(i).padStart(4, '0')}`);
  for (let i = 0; i < names.length; i += CHUNK) {
    const subscriptions = names.slice(i, i + CHUNK).map((name) => ({ name }));
    await writer.ok('POST', '/users/me/subscriptions', { subscriptions, principals: [writer.id, viewer.id] });
  }
  const { streams } = await writer.ok('GET', '/streams');
  const idOf = new Map<string, number>(
    streams.map(({ name, stream_id }: { name: string; stream_id: number }) => [name, stream_id]),
  );
  const made = names.map((name) => ({ name, id: idOf.get(name) ?? 0 }));
  let next = 0;
  const ofShown = Math.ceil(messages / PART_OF_SHOWN);
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (let i = next++; i < messages; i = next++) {
        const channel = made[i < ofShown ? 0 : i % made.length];
        if (channel !== undefined) await sendTo(writer, channel, `message ${i} of ${channel.name}`);
      }
    }),
  );
  return made;
}

/** Sends a message to the only topic that the bench uses. */
export const sendTo = (writer: Person, channel: MadeChannel, content: string): Promise<unknown> =>
  writer.ok('POST', '/messages', { type: 'stream', to: [channel.id], topic: 'bench', content });

/**
 * Sends `perSecond` messages a second, alternately to the displayed channel and to others.
 *
 * @returns A function that stops the traffic and resolves with the number of messages.
 */
export function traffic({ writer, channels }: WebStage, perSecond: number): () => Promise<number> {
  let sent = 0;
  const flying: Promise<unknown>[] = [];
  const timer = setInterval(() => {
    const channel = channels[sent % 2 === 0 ? 0 : sent % channels.length];
    if (channel === undefined) return;
    flying.push(sendTo(writer, channel, `traffic ${sent++} of ${channel.name}`));
  }, 1000 / perSecond);
  return async () => {
    clearInterval(timer);
    await Promise.all(flying);
    return sent;
  };
}

/** Opens a channel and waits until its first message is displayed. */
export async function openBench(page: Page, { name }: MadeChannel): Promise<void> {
  await page
    .getByRole('navigation', { name: 'Sidebar' })
    .getByRole('link', { name: new RegExp(`^${name}`) })
    .click();
  await page.getByRole('article').filter({ hasText: name }).first().waitFor();
}

/** Scrolls to the newest message. A list opens at its first unread message. */
export async function goToNewest(page: Page): Promise<void> {
  const button = page.getByRole('button', { name: 'Jump to latest' });
  while ((await button.count()) > 0) {
    await button.click();
    await sleep(300);
  }
}
