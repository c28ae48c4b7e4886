import type { ServerResponse } from 'node:http';
import type { App } from '../../access/context.ts';
import { countAddress, countFile, setBudgetHeaders } from '../rate-limits.ts';
import type { Web } from './router.ts';

/**
 * Counts every request that no earlier route answers on its client's address: pages, files, images and unknown paths. Must be
 * called after the REST endpoints are added, which count requests by account, and before the pages are added.
 *
 * @param isFile Whether a path is that of a file that is the same for all clients. Files have a larger budget. A path with
 *   another spelling, such as percent-encoded, counts as a page.
 */
export function addPageLimits(web: Web, app: App, isFile: (path: string) => boolean): void {
  web.use('*', async ({ req, env }, next) => {
    const { incoming, outgoing } = env;
    const count = isFile(req.path) ? countFile : countAddress;
    await count(app, incoming, (budget) => setBudgetHeaders(outgoing as ServerResponse, budget));
    await next();
  });
}
