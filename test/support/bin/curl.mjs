#!/usr/bin/env node
// Implements the options of curl that the README's examples use, for machines without curl.
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import '../localhost-names.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    silent: { type: 'boolean', short: 's' },
    'show-error': { type: 'boolean', short: 'S' },
    'no-buffer': { type: 'boolean', short: 'N' },
    request: { type: 'string', short: 'X' },
    header: { type: 'string', short: 'H', multiple: true },
    data: { type: 'string', short: 'd' },
    'data-binary': { type: 'string' },
  },
})
const headers = (values.header ?? []).map((line) => line.split(/:\s*/, 2))
const method = values.request ?? (values.data === undefined ? 'GET' : 'POST')
const file = values['data-binary']?.replace(/^@/, '')
const body = file === undefined ? values.data : readFileSync(file)
const response = await fetch(positionals[0], { method, headers, body })
for await (const chunk of response.body ?? []) process.stdout.write(chunk)
