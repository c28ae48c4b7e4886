import { useQuery } from 'urql';
import {
  OwnDocument,
  RightsDocument,
  type RightsQuery,
  SidebarDocument,
  type SidebarQuery,
} from '../generated/graphql.ts';

/** Who is signed in, and their settings: part of the first screen, so there from the start. */
export function useViewer() {
  const [{ data }] = useQuery({ query: OwnDocument });
  return { viewerId: data?.viewer?.id ?? '', viewer: data?.viewer ?? null, settings: data?.ownSettings ?? null };
}

type Rights = NonNullable<RightsQuery['organization']>;

/** What the viewer may do that is about nothing there is yet; nothing, until it is known. */
export function useRights(): Partial<Rights> {
  const [{ data }] = useQuery({ query: RightsDocument });
  return data?.organization ?? {};
}

/** All of the first screen; whoever uses it is drawn anew with every message that is unread. */
export function useFirstScreen(): SidebarQuery | undefined {
  const [{ data }] = useQuery({ query: SidebarDocument });
  return data;
}
