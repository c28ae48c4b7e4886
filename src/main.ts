import { format } from 'node:util';
import type { App } from './access/context.ts';
import { requireDeclaredProviders } from './administration/single-sign-on/declared.ts';
import { type Config, loadEnvFile, readConfig } from './platform/config.ts';
import { hostOf, isLoopback, urlOf } from './platform/hosts.ts';
import { freeUnused } from './platform/memory.ts';
import { demoFile, prepareDemo, refreshDemoFile } from './server/demo/demo.ts';
import { DemoAccess, type DemoOwner, hidesDemoKey, startUrlOf } from './server/demo/demo-access.ts';
import { explain } from './server/failures.ts';
import { requireAddress } from './server/listen.ts';
import { openControl } from './server/operator/control.ts';
import { leftDataWarning } from './server/operator/left-data.ts';
import { serve } from './server/serve.ts';
import { startApp } from './server/start.ts';
import { outliveStrayRejections } from './server/stray-rejections.ts';

/**
 * Maximum time to stop, in milliseconds. Afterwards, the process exits with code 1, even if requests are unfinished. Service
 * managers wait at least this long before they kill a process.
 */
const STOP_WITHIN_MS = 5_000;

// Without this listener, a write error on standard output or standard error would end the process. The log counts the lines
// that it loses.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

try {
  loadEnvFile();
  await run(readConfig());
} catch (error) {
  console.error(explain(error));
  process.exit(1);
}

async function run(config: Config): Promise<void> {
  // Addresses and providers are checked first. If the service cannot start, it must not create or migrate a database.
  await requireAddress(config, { host: 'HOST', port: 'PORT' });
  const { metricsAddress } = config;
  if (metricsAddress !== undefined) {
    await requireAddress(metricsAddress, { host: 'METRICS_ADDRESS', port: 'METRICS_ADDRESS' });
  }
  requireDeclaredProviders(config);
  const running = await startApp(config);
  const { app, close } = running;
  outliveStrayRejections(app.log);
  // Libraries print hints with `console.warn`, for example the client of Redis about the rights of its user.
  console.warn = (...printed) => app.log.warn({ printed: format(...printed) }, 'a library printed a warning');
  const warning = await leftDataWarning(app);
  if (warning !== undefined) app.log.warn(warning);
  // A demo would hide that the data is missing, and the database would no longer be empty.
  const owner = warning === undefined ? await prepareDemo(app) : null;
  const control = await openControl(app);
  const isPortOpen = config.port === 0;
  const server = await serve(running, DemoAccess.of(app, owner));
  // The demo file contains URLs with the port. If the operating system chose the port, the port is known only now.
  if (isPortOpen) await refreshDemoFile(app);
  announce(app, owner, await app.db.organization.count());
  // Frees memory that only the start needed. An idle service collects garbage rarely, and V8 shrinks the heap only some seconds
  // after a collection.
  freeUnused();
  const stop = once(async () => {
    setTimeout(() => process.exit(1), STOP_WITHIN_MS).unref();
    control.close();
    await server.close();
    await close();
    process.exit(0);
  });
  // A second signal is ignored, because npm forwards a signal that the terminal has already sent to the process.
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

/** Prints the start message to standard output. It contains no API key, because service managers store this output. */
function announce(app: App, owner: DemoOwner | null, organizationCount: number): void {
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
        ? 'The start address gives access to the key of the demo owner. Do not share it.'
        : `No page signs in as the demo owner, because ${variable} is set.`,
    );
  }
  if (organizationCount === 0)
    lines.push('', 'There is no organization yet. To create one: npm run cli -- org create --help');
  if (config.externalHost === undefined && !isLoopback(config.host)) {
    const isEverywhere = ['0.0.0.0', '::'].includes(config.host);
    lines.push(
      '',
      isEverywhere
        ? `The server accepts requests to ${hostOf(config, '')} and localhost only. Set EXTERNAL_HOST to its name on the network.`
        : `The server listens at ${config.host} only, and accepts only names of this machine. Set EXTERNAL_HOST to its name ` +
            'on the network, or HOST to 127.0.0.1.',
    );
  }
  console.log(`\n${lines.join('\n')}\n`);
}
