// Values of a bot's `bot_type`.

/** Does what its owner programs it to: the one type that can be made here. */
export const GENERIC_BOT = 1;
export const INCOMING_WEBHOOK_BOT = 2;
export const OUTGOING_WEBHOOK_BOT = 3;
export const EMBEDDED_BOT = 4;
