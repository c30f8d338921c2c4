-- Keys of programs that build images for whoever can't (docs/protocol.md#builders).
ALTER TYPE "Role" ADD VALUE 'builder';
