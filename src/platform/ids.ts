/** Largest id of a row. Ids are int4, except those of messages and events. */
export const MAX_ROW_ID = 2_147_483_647;

/** Returns whether a number can be the id of a row. */
export const isRowId = (id: number): boolean => Number.isInteger(id) && id >= 1 && id <= MAX_ROW_ID;
