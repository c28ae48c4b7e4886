import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, BrowserContextOptions, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { launchChromium } from './chromium.ts';
import { Person } from './person.ts';
import { ServerProcess } from './process.ts';
import { ROLES } from './server.ts';

/** Timeout of page actions, in milliseconds. Long enough while other tests run on the same machine. */
const PATIENCE_MS = 25_000;

/** Roles of demo users. `member` is the first of several members. */
export type DemoRole = 'owner' | 'administrator' | 'moderator' | 'member' | 'guest';

const NAMES: Readonly<Record<DemoRole, string>> = {
  owner: 'Iris Haddad',
  administrator: 'Aaron Weiss',
  moderator: 'Mona Lindqvist',
  member: 'Bela Novak',
  guest: 'Gus Marino',
};

const CONTEXT: BrowserContextOptions = { viewport: { width: 1280, height: 800 }, serviceWorkers: 'block' };

/** Warning of the browser driver for a page whose service worker is blocked. */
const BLOCKED = 'Service Worker registration blocked by Playwright';

/** A user of the chat in a separate browser context. */
export interface Chatter extends AsyncDisposable {
  readonly page: Page;
  /** API client of the page's user, to prepare data and to act from another client. */
  readonly person: Person;
  /** Problems of the page so far: errors, failed requests, requests to other hosts. */
  readonly problems: string[];
}

/** A service with the demo, and a browser. */
export class DemoChat implements AsyncDisposable {
  readonly #env: NodeJS.ProcessEnv;
  #running: { readonly server: ServerProcess; readonly browser: Browser } | undefined;

  /** @param env Additional environment variables of the service. */
  constructor(env: NodeJS.ProcessEnv = {}) {
    this.#env = env;
  }

  get server(): ServerProcess {
    return this.#runs.server;
  }

  /** Starts the service. If the service already runs, replaces it with one that has a new organization. */
  async start(): Promise<void> {
    await this[Symbol.asyncDispose]();
    const starting = ServerProcess.start({ env: { DEMO: 'on', DATABASE_URL: undefined, ...this.#env } });
    const browser = await launchChromium();
    this.#running = { server: await starting, browser };
  }

  /**
   * Returns a user of the demo as a client of the API.
   *
   * @param at Index among the users with the role, from 0.
   * @throws {Error} If the demo has no such user.
   */
  person(role: DemoRole, at = 0): Person {
    const { users } = this.#file();
    const user = users.filter((one) => one.role === role)[at];
    if (user === undefined) throw new Error(`The demo has no ${role}`);
    const { url, port } = this.server;
    const { user_id: id, email, api_key: apiKey } = user;
    const account = { id, name: NAMES[role], email, apiKey, role: ROLES[role] };
    return new Person({ url, host: `127.0.0.1:${port}` }, account);
  }

  /** The URL of the page that offers to sign in as a demo user with one click. */
  get startUrl(): string {
    return this.#file().start_url;
  }

  /**
   * Opens the start URL in a new browser context and signs in as a demo user with one click.
   *
   * @param options Replace the defaults. Service workers are blocked by default, because the browser cannot intercept requests
   *   that pass through them, nor set them offline.
   */
  async enter(role: DemoRole, options: BrowserContextOptions = {}): Promise<Chatter> {
    const context = await this.#runs.browser.newContext({ ...CONTEXT, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const problems = problemsOf(page, this.server.url);
    await page.goto(this.startUrl);
    await page.getByRole('region', { name: 'The demo' }).getByRole('button', { name: NAMES[role] }).click();
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
    // Requests before the sign-in are refused, so their failures are ignored.
    problems.length = 0;
    return { page, person: this.person(role), problems, [Symbol.asyncDispose]: () => context.close() };
  }

  /**
   * Opens a new browser context in which no user is signed in.
   *
   * @returns `problems` are like those of `Chatter`. All organizations of the service belong to it.
   */
  async openStranger(): Promise<{ readonly page: Page; readonly problems: string[]; close(): Promise<void> }> {
    const context = await this.#runs.browser.newContext(CONTEXT);
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const problems = problemsOf(page, `http://([\\w-]+\\.localhost|127\\.0\\.0\\.1):${this.server.port}`);
    return { page, problems, close: () => context.close() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.browser.close();
    await running?.server[Symbol.asyncDispose]();
  }

  get #runs() {
    if (this.#running === undefined) throw new Error('It is not started');
    return this.#running;
  }

  #file(): { start_url: string; users: { role: string; user_id: number; email: string; api_key: string }[] } {
    return JSON.parse(readFileSync(join(this.server.dataDir, 'demo.json'), 'utf8'));
  }
}

/**
 * Provides a chat to all tests of a file. Each retry of a failed test gets a new chat, because the failed attempt may have left
 * changes.
 *
 * @param fill Creates the data that all tests of the file need.
 * @param env Additional environment variables of the service.
 */
export function demoChat(
  fill: (chat: DemoChat) => Promise<unknown> = async () => undefined,
  env: NodeJS.ProcessEnv = {},
): DemoChat {
  const chat = new DemoChat(env);
  const start = async () => {
    await chat.start();
    await fill(chat);
  };
  beforeAll(start);
  beforeEach(async ({ task }) => {
    if ((task.result?.retryCount ?? 0) > 0) await start();
  });
  afterAll(() => chat[Symbol.asyncDispose]());
  return chat;
}

/** Returns a name that is unique even if a test creates several such objects in an organization. */
export const newName = (word: string): string => `${word} ${randomUUID().slice(0, 8)}`;

/** @param origins Pattern of the origins of the service. */
function problemsOf(page: Page, origins: string): string[] {
  const problems: string[] = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && message.text() !== BLOCKED) problems.push(message.text());
  });
  page.on('response', (reply) => reply.status() >= 400 && problems.push(`${reply.status()} ${reply.url()}`));
  page.on('request', (request) => {
    if (!new RegExp(`^(${origins}/|data:|blob:)`).test(request.url())) problems.push(`asked ${request.url()}`);
  });
  return problems;
}

export const sidebarOf = (page: Page): Locator => page.getByRole('navigation', { name: 'Sidebar' });

/** Returns the link of a channel in the sidebar. Its name contains the number of unread messages. */
export const channelLink = (page: Page, name: string): Locator =>
  sidebarOf(page).getByRole('link', { name: new RegExp(`^${name}( muted)?( [\\d+]+ unread)?$`) });

/** Opens the list of a select box. @returns The options. */
async function optionsOf(box: Locator): Promise<Locator> {
  const list = await box.getAttribute('aria-controls');
  await box.click();
  return box.page().locator(`[id="${list}"]`).getByRole('option');
}

/** Chooses an option of a select box, which is a native one if the main pointer is a finger. */
export async function chooseOption(box: Locator, name: string): Promise<void> {
  if ((await box.evaluate(({ tagName }) => tagName)) === 'SELECT') {
    await box.selectOption({ label: name });
    return;
  }
  await (await optionsOf(box)).and(box.page().getByRole('option', { name, exact: true })).click();
}

/** Returns the names of the options of a select box, in order. */
export async function optionNames(box: Locator): Promise<string[]> {
  const names = await (await optionsOf(box)).allTextContents();
  await box.press('Escape');
  return names;
}

/** Opens a topic, or a channel if no topic is given. */
export async function open(page: Page, channel: string, topic?: string): Promise<void> {
  await channelLink(page, channel).click();
  if (topic === undefined) return;
  const topics = sidebarOf(page).getByRole('list', { name: `Topics in ${channel}` });
  await topics.getByRole('link', { name: new RegExp(`^${topic}`) }).click();
}

/** Returns the displayed messages with this text, except those that are not sent yet. */
export const message = (page: Page, text: string): Locator =>
  page.getByRole('article').and(page.locator(':not([aria-label="Not sent yet"])')).filter({ hasText: text });

/** Returns the displayed messages that are not sent yet. */
export const notSent = (page: Page): Locator => page.getByRole('article', { name: 'Not sent yet' });

/** Writes a message in the current view and sends it. */
export async function write(page: Page, text: string): Promise<void> {
  const form = page.getByRole('form', { name: 'Write a message' });
  await form.getByRole('textbox', { name: /^Message / }).fill(text);
  await form.getByRole('button', { name: 'Send', exact: true }).click();
}
