import { createStore, useStore } from '../api/store.ts';

/** Moments as the reader wants to read them. */
export interface Clock {
  readonly time: (at: string) => string;
  /** Day and time. */
  readonly moment: (at: string) => string;
  /** With all there is to say of it. */
  readonly exact: (at: string) => string;
  /** Weekday and time of now in a zone. @throws RangeError for a zone that the browser does not know. */
  readonly nowIn: (timeZone: string) => string;
}

const NOW = { weekday: 'short', hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;

/** @param isOf24Hours Null: as the browser has it. */
function clockOf(isOf24Hours: boolean | null): Clock {
  const hours = isOf24Hours === null ? {} : ({ hourCycle: isOf24Hours ? 'h23' : 'h12' } as const);
  const formatter = (options: Intl.DateTimeFormatOptions) => {
    const format = new Intl.DateTimeFormat(undefined, { ...options, ...hours });
    return (at: string) => format.format(new Date(at));
  };
  return {
    time: formatter({ hour: 'numeric', minute: '2-digit' }),
    moment: formatter({ dateStyle: 'medium', timeStyle: 'short' }),
    exact: formatter({ dateStyle: 'full', timeStyle: 'medium' }),
    nowIn: (timeZone) => new Intl.DateTimeFormat(undefined, { ...NOW, ...hours, timeZone }).format(),
  };
}

/** By the viewer's setting: `useAppearance` keeps it. */
export const clock = createStore(clockOf(null));
let known: boolean | null = null;

/** @param isOf24Hours As the setting has it. */
export function setClock(isOf24Hours: boolean | null): void {
  if (isOf24Hours === known) return;
  known = isOf24Hours;
  clock.set(clockOf(isOf24Hours));
}

/** Who shows a moment by it is drawn anew when the viewer sets another one. */
export const useClock = (): Clock => useStore(clock);
