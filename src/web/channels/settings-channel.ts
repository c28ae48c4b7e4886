import type { ChannelSettingsQuery } from '../generated/graphql.ts';

/** A channel with the fields that the settings dialog reads. */
export type Channel = NonNullable<ChannelSettingsQuery['channel']>;
