/** Channels of int4 ids; other numbers name none. */
const MAX_INT4 = 2_147_483_647;

export const isRowId = (id: number): boolean => Number.isInteger(id) && id >= 1 && id <= MAX_INT4;

/** The largest id a row can have; a larger one is the id of nothing. */
const MAX_ID = 2_147_483_647;

export const isId = (id: number) => Number.isInteger(id) && id >= 1 && id <= MAX_ID;
