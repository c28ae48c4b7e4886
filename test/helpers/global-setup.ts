import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/db/client.ts';
import { migrate } from '../../src/db/migrate.ts';
import { useTemplate } from './data-dir.ts';
import { ServerProcess } from './process.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The server most tests share, each with an organisation of its own. */
    server: { readonly url: string; readonly dataDir: string };
  }
}

/** Log levels of pino from which on something went wrong that should not. */
const ERROR = 50;

/** Starts the one server all tests share, on a database of its own, and ends both. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const template = mkdtempSync(join(tmpdir(), 'chat-test-template-'));
  await makeTemplate(template);
  const server = await ServerProcess.start();
  project.provide('server', { url: server.url, dataDir: server.dataDir });
  return async () => {
    const code = await server.stop();
    const lines = server.log().trimEnd().split('\n');
    const errors = lines.filter(isError);
    await server[Symbol.asyncDispose]();
    rmSync(template, { recursive: true, force: true });
    if (code !== 0) throw new Error(`The server ended with ${code ?? 'a signal'}:\n${lines.slice(-20).join('\n')}`);
    // Whatever the tests sent: an error here is a fault of the server's own.
    if (errors.length > 0) throw new Error(`The server logged ${errors.length} errors:\n${errors.join('\n')}`);
  };
}

async function makeTemplate(dataDir: string): Promise<void> {
  const config = readConfig({ DATA_DIR: dataDir });
  const database = await openDatabase(config);
  await migrate(config, database);
  await database.close();
  useTemplate(dataDir);
}

function isError(line: string): boolean {
  return line.startsWith('{') && (JSON.parse(line) as { level: number }).level >= ERROR;
}
