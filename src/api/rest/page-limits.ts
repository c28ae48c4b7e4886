import type { ServerResponse } from 'node:http';
import type { App } from '../../access/context.ts';
import { countAddress, countFile, setBudgetHeaders } from '../rate-limits.ts';
import type { Web } from './router.ts';

/**
 * Counts every request that no earlier route answers on its address: pages, files, images and unknown addresses. Must be
 * added after the REST endpoints, which count by account, and before the pages.
 *
 * @param isFile Whether a routed path leads to a prepared file. Files have a larger budget. A path that is spelled
 *   differently counts as a page.
 */
export function addPageLimits(web: Web, app: App, isFile: (path: string) => boolean): void {
  web.use('*', async ({ req, env }, next) => {
    const { incoming, outgoing } = env;
    const count = isFile(req.path) ? countFile : countAddress;
    await count(app, incoming, (budget) => setBudgetHeaders(outgoing as ServerResponse, budget));
    await next();
  });
}
