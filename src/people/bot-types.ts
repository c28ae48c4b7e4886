// Values of a bot's `bot_type`.

/** A bot that is controlled by its owner's program. The only type that users can create. */
export const GENERIC_BOT = 1;
export const INCOMING_WEBHOOK_BOT = 2;
export const OUTGOING_WEBHOOK_BOT = 3;
export const EMBEDDED_BOT = 4;
