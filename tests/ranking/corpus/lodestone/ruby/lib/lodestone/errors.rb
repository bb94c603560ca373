# frozen_string_literal: true

module Lodestone
  # Base of all errors.
  class Error < StandardError; end

  # The operating system refused.
  class IoError < Error; end

  # A file does not have the checksum that it should have.
  class CorruptError < Error; end

  # Another process has the database open.
  class LockedError < Error; end

  # The database was closed.
  class ClosedError < Error; end

  STATUS = { 2 => IoError, 3 => CorruptError, 4 => LockedError, 5 => ArgumentError }.freeze

  # Raises what a status of the native library means; 0 and 1 mean nothing bad.
  def self.check(status)
    return status if status <= 1

    raise STATUS.fetch(status, Error), Native.ls_message(status).to_s
  end
end
