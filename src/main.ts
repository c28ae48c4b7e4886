import { join } from 'node:path';
import { hostOf, urlOf } from './auth/host.ts';
import { type Config, readConfig } from './config.ts';
import { openControl } from './control.ts';
import { prepareDemo } from './demo.ts';
import type { DemoOwner } from './demo-access.ts';
import { explain } from './failures.ts';
import { serve } from './serve.ts';
import { startApp } from './start.ts';

/** Our choice: what service managers wait for at the least before they kill. */
const STOP_WITHIN_MS = 5_000;

try {
  await run(readConfig());
} catch (error) {
  console.error(explain(error));
  process.exit(1);
}

async function run(config: Config): Promise<void> {
  const { app, close } = await startApp(config);
  const owner = await prepareDemo(app);
  const control = await openControl(app);
  const server = await serve(app, owner);
  announce(app.config, owner, await app.db.realm.count());
  const stop = once(async () => {
    setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref();
    control.close();
    await server.close();
    await close();
    process.exit(0);
  });
  // npm passes on what the terminal has sent already: the second one is not an impatient operator.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
}

function once(work: () => Promise<void>): () => void {
  let begun = false;
  return () => {
    if (begun) return;
    begun = true;
    work().catch((error: unknown) => {
      console.error(explain(error));
      process.exit(1);
    });
  };
}

function announce(config: Config, owner: DemoOwner | null, realmCount: number): void {
  const url = urlOf(config, '');
  const lines = [
    `Team chat is ready after ${process.uptime().toFixed(1)} s`,
    '',
    `  Start page  ${url}/`,
    `  GraphQL     ${url}/graphql`,
    `  REST        ${url}/api/v1/   (reference: ${url}/docs)`,
  ];
  if (owner !== null) {
    lines.push('', `  Demo owner  ${owner.email}`, `  API key     ${owner.apiKey}`);
    lines.push(`  Everyone    ${join(config.dataDir, 'demo.json')}`);
  }
  if (realmCount === 0) lines.push('', 'There is no organization yet: npm run cli -- org create --help');
  if (config.externalHost === undefined && !isLoopback(config.host)) {
    lines.push(
      '',
      `It answers to ${hostOf(config, '')} and localhost only: set EXTERNAL_HOST to its name on the network.`,
    );
  }
  console.log(`\n${lines.join('\n')}\n`);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
