import type { Feature } from '../../api/feature.ts';
import './graphql.ts';
import type { StateGroup } from '../../api/state-group.ts';
import { deleteNavigationView, getNavigationViews, patchNavigationView, postNavigationView } from './rest.ts';
import { toWire } from './wire.ts';

/** State group (a part of the response of `POST /register`) with the viewer's navigation views, oldest first. */
const navigationViewsState: StateGroup = {
  name: 'navigation_views',
  async read({ viewer, db }) {
    const rows = await db.navigationView.findMany({
      where: { organizationId: viewer.organization.id, userId: viewer.id },
      orderBy: { id: 'asc' },
    });
    return { navigation_views: rows.map(toWire) };
  },
};

export const navigationViews: Feature = {
  endpoints: [getNavigationViews, postNavigationView, patchNavigationView, deleteNavigationView],
  state: [navigationViewsState],
};
