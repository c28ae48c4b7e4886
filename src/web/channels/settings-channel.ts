import type { ChannelSettingsQuery } from '../generated/graphql.ts';

/** A channel as the settings dialog reads it. */
export type Channel = NonNullable<ChannelSettingsQuery['channel']>;
