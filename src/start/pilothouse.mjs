#!/bin/sh
':' //; exec node --max-semi-space-size=8 --heap-growing-percent=60 "$0" "$@"
/**
 * The program `pilothouse`. A shell runs the second line, which starts this file again in Node with the V8 flags of decision 30;
 * to Node that line is a string and a comment. V8 takes the first flag only at its start.
 */
process.argv.splice(2, 0, 'cli')
await import('./start.mjs')
