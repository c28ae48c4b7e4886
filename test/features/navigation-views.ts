import { fresh, PAGE } from '../helpers/call-values.ts';
import type { FeatureTests } from '../helpers/feature.ts';
import type { Json } from '../helpers/http.ts';
import { heldBy } from '../helpers/piles.ts';

export const navigationViews: FeatureTests = {
  rest: {
    'GET /navigation_views': () => [{}],
    'POST /navigation_views': () => [
      { parameters: { fragment: 'narrow/is/starred', is_pinned: true } },
      { parameters: { fragment: fresh(), is_pinned: false, name: fresh() } },
    ],
    'PATCH /navigation_views/{fragment}': ({ fragment }) => [
      { slots: { fragment }, parameters: { is_pinned: false, name: fresh() } },
    ],
    'DELETE /navigation_views/{fragment}': ({ fragment }) => [{ slots: { fragment } }],
  },
  queries: {
    navigationViews: () => [PAGE],
  },
  mutations: {
    addNavigationView: () => [
      { fragment: 'narrow/is/mentioned', isPinned: true },
      { fragment: fresh(), isPinned: false, name: fresh() },
    ],
    updateNavigationView: ({ fragment }) => [{ fragment, isPinned: false, name: fresh() }],
    removeNavigationView: ({ fragment }) => [{ fragment }],
  },
  nodes: ({ navigationViewId }) => ({ NavigationView: navigationViewId }),
  piles: {
    navigation_views: {
      fill: ({ sql }) =>
        sql(`INSERT INTO navigation_view (realm_id, user_id, fragment, is_pinned, name)
        SELECT $1, $2, 'view' || n, false, 'name ' || n FROM generate_series(1, 1000) AS n`),
      rest: ({ member }, i) =>
        member.rest('POST', '/navigation_views', { fragment: `new${i}`, is_pinned: false, name: `new ${i}` }),
      graphql: (_, i) => ['addNavigationView', { fragment: `new${i}`, isPinned: false, name: `new ${i}` }],
      held: heldBy('navigation_view', 'user_id = $1'),
      free: ({ member }) => member.ok('DELETE', '/navigation_views/view1'),
    },
  },
  ownChanges: {
    'navigation views': async (user) => {
      const path = `/navigation_views/${encodeURIComponent('narrow/topic/lunch')}`;
      return {
        'a new one': () =>
          user.ok('POST', '/navigation_views', { fragment: 'narrow/topic/lunch', is_pinned: true, name: 'Lunch' }),
        'one changed': () => user.ok('PATCH', path, { is_pinned: false }),
        'one deleted': () => user.ok('DELETE', path),
      };
    },
  },
  rules: {
    'navigation_view/add': (state, { navigation_view }) => {
      state['navigation_views'].push(navigation_view);
    },
    'navigation_view/update': (state, { fragment, data }) => {
      Object.assign(
        state['navigation_views'].find((view: Json) => view.fragment === fragment),
        data,
      );
    },
    'navigation_view/remove': (state, { fragment }) => {
      state['navigation_views'] = state['navigation_views'].filter((view: Json) => view.fragment !== fragment);
    },
  },
};
