/** `serve`: runs the server, like `npm start`. */
import { program } from './terminal/command.ts'

export const serve = program({
  examples: ['serve'],
  details: 'Settings come from the environment (docs/settings.md). All have defaults; the server brings a Postgres.',
  run: () => import('../main.ts'),
})
