import { useData } from '../api/use-data.ts';
import {
  OwnDocument,
  RightsDocument,
  type RightsQuery,
  SidebarDocument,
  type SidebarQuery,
} from '../generated/graphql.ts';

/**
 * Returns the signed-in user and their settings. Both are part of the data that the page loads before it shows the first
 * screen, so they are available in all views.
 */
export function useViewer() {
  const { data } = useData(OwnDocument, {});
  return { viewerId: data?.viewer?.id ?? '', viewer: data?.viewer ?? null, settings: data?.ownSettings ?? null };
}

type Rights = NonNullable<RightsQuery['organization']>;

/** Returns the viewer's permissions in the organization, such as creating channels. Empty until they are loaded. */
export function useRights(): Partial<Rights> {
  const { data } = useData(RightsDocument, {});
  return data?.organization ?? {};
}

/**
 * Returns the data of the first screen: the viewer, their settings, subscriptions, conversations and views. Components that use
 * this hook render again for every unread message. Undefined until the data is loaded.
 */
export function useFirstScreen(): SidebarQuery | undefined {
  const { data } = useData(SidebarDocument, {});
  return data;
}
