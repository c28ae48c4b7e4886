import type { ServerResponse } from 'node:http';
import type { App } from '../../access/context.ts';
import { countAddress, countFile, setBudgetHeaders } from '../rate-limits.ts';
import type { Web } from './router.ts';

/**
 * Adds a middleware that counts all requests for pages, files, images and unknown paths. Each request counts towards the limit
 * of the client's IP address. Must be called after the REST endpoints are added, because these count requests by account. Must
 * be called before the pages are added.
 *
 * @param isFile Whether a path belongs to a file that does not depend on the client. Files have a larger budget. A path in
 *   another notation, for example percent-encoded, counts as a page.
 */
export function addPageLimits(web: Web, app: App, isFile: (path: string) => boolean): void {
  web.use('*', async ({ req, env }, next) => {
    const { incoming, outgoing } = env;
    const count = isFile(req.path) ? countFile : countAddress;
    await count(app, incoming, (budget) => setBudgetHeaders(outgoing as ServerResponse, budget));
    await next();
  });
}
