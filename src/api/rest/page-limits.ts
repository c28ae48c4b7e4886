import type { ServerResponse } from 'node:http';
import type { App } from '../../access/context.ts';
import { countAddress, countFile, setBudgetHeaders } from '../rate-limits.ts';
import type { Web } from './router.ts';

/**
 * Counts every request that no earlier route answers (pages, files, images and unknown paths) towards the limit of its client's
 * IP address. Must be called after the REST endpoints are added, which count requests by account, and before the pages are
 * added.
 *
 * @param isFile Whether a path is that of a file that does not depend on the client. Files have a larger budget. If such a path
 *   is written differently, for example percent-encoded, it counts as a page.
 */
export function addPageLimits(web: Web, app: App, isFile: (path: string) => boolean): void {
  web.use('*', async ({ req, env }, next) => {
    const { incoming, outgoing } = env;
    const count = isFile(req.path) ? countFile : countAddress;
    await count(app, incoming, (budget) => setBudgetHeaders(outgoing as ServerResponse, budget));
    await next();
  });
}
