/** `npm run chaos`: Postgres is restarted twenty times under a server in use. Ends with 1 if anything is not as it must be. */
import { restartUnderLoad } from '../support/restarts.ts'

const TIMES = 20

const { answers, lost, written, survived } = await restartUnderLoad(TIMES)
const wrong = Object.keys(answers).filter((answer) => answer.startsWith('5') && !answer.startsWith('503'))
console.log(`restarts survived: ${survived} of ${TIMES}`)
console.log(`answers: ${JSON.stringify(answers)}`)
console.log(`writes lost: ${lost.length}, written though refused: ${written.length}`)
process.exit(survived === TIMES && wrong.length + lost.length + written.length === 0 ? 0 : 1)
