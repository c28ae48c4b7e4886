// npm run bench:web [-- --quick] [--minutes=3] [--asleep=60]: what the chat in the browser takes, against its marks.
import { parseArgs } from 'node:util';
import { printFigures } from './figures.ts';
import { measureLong } from './long.ts';
import { measureReading } from './reading.ts';
import { setWebStage } from './stage.ts';
import { measureFirstStart, measureStart } from './start.ts';
import { measureWriting } from './writing.ts';

const { values: options } = parseArgs({
  options: {
    /** A tenth of the organisation, to see that the bench itself works. */
    quick: { type: 'boolean', default: false },
    /** For how long messages come while memory is looked at. */
    minutes: { type: 'string', default: '3' },
    /** For how many seconds the browser sleeps. */
    asleep: { type: 'string', default: '60' },
  },
});

printFigures([await measureFirstStart()]);
{
  await using stage = await setWebStage({ channels: 20, messages: 500 });
  printFigures(await measureStart(stage, { isMarked: true }));
}
{
  const size = options.quick ? { channels: 100, messages: 1000 } : { channels: 1000, messages: 10_000 };
  console.log(`Making ${size.channels} channels and ${size.messages} messages`);
  await using stage = await setWebStage(size);
  printFigures(await measureStart(stage, { isMarked: false }));
  printFigures(await measureWriting(stage));
  printFigures(await measureReading(stage));
  printFigures(await measureLong(stage, { minutes: Number(options.minutes), asleepSeconds: Number(options.asleep) }));
}
