# frozen_string_literal: true

require_relative "lodestone/native"
require_relative "lodestone/errors"
require_relative "lodestone/batch"
require_relative "lodestone/database"

# An embedded, ordered key-value store.
module Lodestone
  VERSION = "1.2.0"

  # Opens a database, and closes it after the block if there is one.
  def self.open(directory)
    database = Database.new(directory)
    return database unless block_given?

    begin
      yield database
    ensure
      database.close
    end
  end
end
