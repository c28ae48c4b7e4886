import { createStore, useStore } from '../base/store.ts';

/** Functions that format times according to the viewer's setting. Arguments named `at` are in ISO 8601. */
export interface Clock {
  readonly time: (at: string) => string;
  /** Returns the date and the time. */
  readonly moment: (at: string) => string;
  /** Returns the full date, and the time with seconds. */
  readonly exact: (at: string) => string;
  /** Returns the current weekday and time in a zone. @throws RangeError if the browser does not support the zone. */
  readonly nowIn: (timeZone: string) => string;
}

const NOW = { weekday: 'short', hour: 'numeric', minute: '2-digit', timeZoneName: 'short' } as const;

/** Creates the format functions. @param isOf24Hours Null for the time format of the browser. */
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

/** The current format functions. `useAppearance` sets them from the viewer's setting. */
export const clock = createStore(clockOf(null));
let known: boolean | null = null;

/** Sets the time format. @param isOf24Hours Value of the setting of the viewer; null for the time format of the browser. */
export function setClock(isOf24Hours: boolean | null): void {
  if (isOf24Hours === known) return;
  known = isOf24Hours;
  clock.set(clockOf(isOf24Hours));
}

/** Returns the format functions. The component renders again when the setting changes. */
export const useClock = (): Clock => useStore(clock);
