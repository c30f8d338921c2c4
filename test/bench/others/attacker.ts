/** A process that attacks until it is killed: `attacker.ts NAME TARGET-AS-JSON`. Says once a second how it was answered. */
import os from 'node:os'
import { ATTACKS, type Tally, type Target } from './attacks.ts'

// on a machine with few cores it must not take the CPU from the server and the client that is measured
os.setPriority(19)
const [name, target] = process.argv.slice(2)
const tally: Tally = {}
setInterval(() => process.send?.(tally), 1000)
// whatever becomes of the bench, this ends
setTimeout(() => process.exit(), 120_000)
process.once('disconnect', () => process.exit())
await ATTACKS[name!]!(JSON.parse(target!) as Target, tally)
