/** Restarts Postgres twenty times under a server in use. */
import { restartUnderLoad } from '../support/restarts.ts'

const TIMES = 20

export async function postgresRestarts(): Promise<boolean> {
  const { answers, lost, written, survived } = await restartUnderLoad(TIMES)
  const wrong = Object.keys(answers).filter((answer) => answer.startsWith('5') && !answer.startsWith('503'))
  console.log(`  restarts survived: ${survived} of ${TIMES}`)
  console.log(`  answers: ${JSON.stringify(answers)}`)
  console.log(`  writes lost: ${lost.length}, written though refused: ${written.length}`)
  return survived === TIMES && wrong.length + lost.length + written.length === 0
}
