/** Prints the outputs of the action, from the JSON document of `pilothouse deploy`. */
import fs from 'node:fs'

const text = fs.readFileSync(process.argv[2], 'utf8')
// no document: the command line was ended before it printed one
const { outcome, url, revision_id: revision } = text === '' ? { outcome: 'failed' } : JSON.parse(text)
console.log(`outcome=${outcome}\nurl=${url ?? ''}\nrevision=${revision ?? ''}`)
