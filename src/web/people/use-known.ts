import { useMemo } from 'react';
import { type Client, useClient } from 'urql';
import { type PersonBadgeFragment, SidebarDocument, type SidebarSubscriptionFragment } from '../generated/graphql.ts';

// Channels and users from the data of the first screen (`SidebarDocument`). Views show their names until
// the data of the view is read.

const firstScreenOf = (client: Client) => client.readQuery(SidebarDocument, {})?.data;

/** Returns the viewer's subscription to a channel from the data of the first screen. Undefined if there is none. */
export function useKnownSubscription(channelId: string): SidebarSubscriptionFragment | undefined {
  const client = useClient();
  return useMemo(
    () => firstScreenOf(client)?.subscriptions?.nodes.find(({ channel }) => channel.id === channelId),
    [client, channelId],
  );
}

/** Returns a channel from the data of the first screen. Undefined if the viewer is not subscribed to the channel. */
export const useKnownChannel = (channelId: string): SidebarSubscriptionFragment['channel'] | undefined =>
  useKnownSubscription(channelId)?.channel;

/**
 * Returns users from the data of the first screen. Undefined unless each of them is the viewer or a participant of a
 * conversation in this data.
 */
export function useKnownPeople(ids: readonly string[]): readonly PersonBadgeFragment[] | undefined {
  const client = useClient();
  return useMemo(() => {
    const { viewer, directConversations } = firstScreenOf(client) ?? {};
    const listed = directConversations?.nodes.flatMap(({ participants }) => participants) ?? [];
    const known = new Map([...(viewer ? [viewer] : []), ...listed].map((person) => [person.id, person]));
    const found = ids.flatMap((id) => known.get(id) ?? []);
    return found.length === ids.length ? found : undefined;
  }, [client, ids]);
}
