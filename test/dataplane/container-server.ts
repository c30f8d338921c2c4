// A server that deploys one revision from an image, to be killed. JSON arguments: the process runtime's options, the
// claim, the step.
import { createProcessRuntime } from '../../src/dataplane/process/runtime.ts'
import { claimOf, memoryLog, NO_SOURCES, never } from './support.ts'

const [options, claim, step] = process.argv.slice(2).map((text) => JSON.parse(text))
const runtime = createProcessRuntime({ ...options, sources: NO_SOURCES })
const deadline = performance.now() + step.secondsLeft * 1000
const candidate = await runtime.deploy(claimOf(claim), { ...step, deadline }, memoryLog(), never)
await candidate.commit(async () => true)
console.log(candidate.url)
