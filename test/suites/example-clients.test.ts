import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Person } from '../helpers/person.ts';
import type { ServerProcess } from '../helpers/process.ts';
import { createOrganization, type Organization, startServer } from '../helpers/server.ts';

const PYTHON = ['/usr/bin/python3', '/usr/local/bin/python3'].find(existsSync);
const FOLDER = join(import.meta.dirname, '../examples');
const PATIENCE = { timeout: 20_000, interval: 50 };

/** A running example with its output. */
class Running implements Disposable {
  readonly #child: ChildProcess;
  #said = '';

  constructor(program: string, file: string, { url, email, apiKey }: Person) {
    this.#child = spawn(program, [join(FOLDER, file), url, `${email}:${apiKey}`]);
    for (const stream of [this.#child.stdout, this.#child.stderr]) stream?.on('data', (bytes) => (this.#said += bytes));
  }

  get lines(): readonly string[] {
    return this.#said.split('\n').slice(0, -1);
  }

  async says(line: string): Promise<void> {
    await vi.waitFor(() => expect(this.#said).toContain(line), PATIENCE);
  }

  [Symbol.dispose](): void {
    this.#child.kill('SIGKILL');
  }
}

describe('the example clients', () => {
  let server: ServerProcess;
  let people: Organization;
  const running = new DisposableStack();

  beforeAll(async () => {
    server = await startServer({ env: { DATABASE_URL: undefined } });
    people = await createOrganization({}, { on: server, subdomain: '' });
    const everyone = [people.owner, people.member, people.bot].map(({ id }) => id);
    await people.owner.ok('POST', '/channels/create', { name: 'harbour', subscribers: everyone });
  });
  afterAll(async () => {
    running.dispose();
    await server?.[Symbol.asyncDispose]();
  });

  const say = (content: string): Promise<{ id: number }> =>
    people.owner.ok('POST', '/messages', { type: 'channel', to: 'harbour', topic: 'hello', content });

  test('miss and repeat no event while the server is killed and restarted', async () => {
    const { owner, member, bot } = people;
    const script = running.use(new Running(process.execPath, 'client.mjs', member));
    const python = PYTHON === undefined ? undefined : running.use(new Running(PYTHON, 'client.py', member));
    const answering = running.use(new Running(process.execPath, 'bot.mjs', bot));
    const clients = [script, ...(python === undefined ? [] : [python])];
    await script.says(`${member.name} sees harbour`);
    await python?.says('You see harbour');
    await answering.says('listening');

    const asked = [await say(`one @**${bot.name}**`)];
    for (const client of clients) await client.says(`${owner.name}: one`);
    await server.kill9();
    await server.restart();
    asked.push(await say(`two @**${bot.name}**`));
    await say('three, to nobody');
    for (const client of clients) {
      await client.says('three, to nobody');
      await vi.waitFor(
        () => expect(client.lines.filter((line) => line.startsWith(`${bot.name}:`))).toHaveLength(2),
        PATIENCE,
      );
      const heard = client.lines.filter((line) => line.startsWith(`${owner.name}:`)).map((line) => line.split(' ')[1]);
      expect(heard).toEqual(['one', 'two', 'three,']);
    }

    const { messages } = await owner.ok('GET', '/messages', { anchor: 'newest', num_before: 20, num_after: 0 });
    const answers = messages.filter(({ sender_id }: { sender_id: number }) => sender_id === bot.id);
    expect(answers).toHaveLength(asked.length);
    expect(answers[0]).toMatchObject({ subject: 'hello', content: expect.stringContaining(`@${owner.name}`) });
  });
});
