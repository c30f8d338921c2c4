/** A process that attacks until it is killed: `attacker.ts NAME TARGET-AS-JSON`. Reports its answers once a second. */
import os from 'node:os'
import { ATTACKS, type Tally, type Target } from './attacks.ts'

// with few cores it must not take the CPU of the server and the measured client
os.setPriority(19)
const [name, target] = process.argv.slice(2)
const tally: Tally = {}
setInterval(() => process.send?.(tally), 1000)
// it also ends if the bench dies
setTimeout(() => process.exit(), 120_000)
process.once('disconnect', () => process.exit())
await ATTACKS[name!]!(JSON.parse(target!) as Target, tally)
