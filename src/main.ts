import type { App } from './access/context.ts';
import { type Config, loadEnvFile, readConfig } from './platform/config.ts';
import { hostOf, urlOf } from './platform/hosts.ts';
import { freeUnused } from './platform/memory.ts';
import { demoFile, prepareDemo, refreshDemoFile } from './server/demo/demo.ts';
import { DemoAccess, type DemoOwner, hidesDemoKey, startUrlOf } from './server/demo/demo-access.ts';
import { explain } from './server/failures.ts';
import { requireAddress } from './server/listen.ts';
import { openControl } from './server/operator/control.ts';
import { serve } from './server/serve.ts';
import { startApp } from './server/start.ts';
import { outliveStrayRejections } from './server/stray-rejections.ts';

/** Our choice: what service managers wait for at the least before they kill. */
const STOP_WITHIN_MS = 5_000;

try {
  loadEnvFile();
  await run(readConfig());
} catch (error) {
  console.error(explain(error));
  process.exit(1);
}

async function run(config: Config): Promise<void> {
  // Before a database is made, or brought up to date, for nothing.
  await requireAddress(config, { host: 'HOST', port: 'PORT' });
  const { metricsAddress } = config;
  if (metricsAddress !== undefined) {
    await requireAddress(metricsAddress, { host: 'METRICS_ADDRESS', port: 'METRICS_ADDRESS' });
  }
  const running = await startApp(config);
  const { app, close } = running;
  outliveStrayRejections(app.log);
  const owner = await prepareDemo(app);
  const control = await openControl(app);
  const isPortOpen = config.port === 0;
  const server = await serve(running, DemoAccess.of(app, owner));
  // The addresses in it are known from here on.
  if (isPortOpen) await refreshDemoFile(app);
  announce(app, owner, await app.db.realm.count());
  // V8 makes its heap small some seconds after a collection, if little happens: without this one, whenever the next comes.
  freeUnused();
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

/** To standard output, which service managers keep: so it holds no key of anybody. */
function announce(app: App, owner: DemoOwner | null, realmCount: number): void {
  const { config } = app;
  const url = urlOf(config, '');
  const lines = [
    `Team chat is ready after ${process.uptime().toFixed(1)} s`,
    '',
    `  Start page  ${(owner && startUrlOf(app)) ?? `${url}/`}`,
    `  GraphQL     ${url}/graphql`,
    `  REST        ${url}/api/v1/   (reference: ${url}/docs)`,
  ];
  if (owner !== null) {
    lines.push(`  Demo keys   ${demoFile(app)}   (the owner is ${owner.email})`, '');
    const variable = hidesDemoKey(config);
    lines.push(
      variable === undefined
        ? 'Whoever has the start address gets the key of the demo owner: give it to nobody.'
        : `No page is opened signed in as the demo owner, because ${variable} is set.`,
    );
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
