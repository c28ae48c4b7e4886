/** Largest possible id (int4) of a row of any table except messages, reactions and events, whose ids are int8. */
export const MAX_ROW_ID = 2_147_483_647;

/** Returns whether a number can be the id of a row. */
export const isRowId = (id: number): boolean => Number.isInteger(id) && id >= 1 && id <= MAX_ROW_ID;
