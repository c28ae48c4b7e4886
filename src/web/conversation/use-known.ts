import { useMemo } from 'react';
import { type Client, useClient } from 'urql';
import { type PersonBadgeFragment, SidebarDocument, type SidebarSubscriptionFragment } from '../generated/graphql.ts';

// Names of channels and users from the data of the first screen. Views show them while they read their own data.

const firstScreenOf = (client: Client) => client.readQuery(SidebarDocument, {})?.data;

/** Returns a channel that the viewer is subscribed to; undefined for other channels. */
export function useKnownChannel(channelId: string): SidebarSubscriptionFragment['channel'] | undefined {
  const client = useClient();
  return useMemo(
    () => firstScreenOf(client)?.subscriptions?.nodes.find(({ channel }) => channel.id === channelId)?.channel,
    [client, channelId],
  );
}

/** Returns the users with these IDs; undefined unless all of them take part in conversations of the first screen. */
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
