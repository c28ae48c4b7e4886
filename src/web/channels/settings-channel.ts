import type { ChannelSettingsQuery } from '../generated/graphql.ts';

/** A channel as its settings show it. */
export type Channel = NonNullable<ChannelSettingsQuery['channel']>;
