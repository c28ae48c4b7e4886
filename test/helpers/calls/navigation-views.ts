import type { FeatureCalls } from './feature.ts';
import { fresh, PAGE } from './shared.ts';

export const navigationViews: FeatureCalls = {
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
};
